/** What the scripts that watch a busy chain share: the waiting, and a reorganisation. */
const SECONDS = 120;

/** Resolves once `condition` holds, which is looked at again and again; rejects if it never does. */
export async function until(what, condition) {
  const deadline = Date.now() + SECONDS * 1000;
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error(`never: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/**
 * Replaces the block of a receipt and those behind it, given what returns the head's number and what reorganises.
 * Blocks that are mined between the two make it too shallow: then it replaced later blocks only, and is repeated.
 */
export async function replaceFrom({ blockHash, blockNumber }, head, reorganise) {
  for (let more = 2; ; more += 1) {
    const { dropped } = await reorganise({ depth: (await head()) - Number(blockNumber) + more });
    if (dropped.some(({ hash }) => hash === blockHash)) return;
  }
}
