/** What the scripts that watch a busy chain share: the waiting. */
const SECONDS = 120;

/** Resolves once `condition` holds, which is looked at again and again; rejects if it never does. */
export async function until(what, condition) {
  const deadline = Date.now() + SECONDS * 1000;
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error(`never: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
