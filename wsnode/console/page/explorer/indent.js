/** JSON text with line breaks and spaces, and not one other character changed. */

const TOKEN = /"(?:[^"\\]|\\.)*"|[[\]{},:]|[^\s[\]{},:"]+/g;
const EMPTY = { "[": "]", "{": "}" };

/** Return `text` with a line for each member; numbers and strings stay as they were sent. */
export function indented(text) {
  const tokens = text.match(TOKEN) ?? [];
  const parts = [];
  let depth = 0;
  const newLine = () => `\n${"  ".repeat(depth)}`;
  tokens.forEach((token, index) => {
    if (EMPTY[token] !== undefined && tokens[index + 1] !== EMPTY[token]) {
      depth += 1;
      parts.push(token, newLine());
    } else if ((token === "]" || token === "}") && EMPTY[tokens[index - 1]] !== token) {
      depth -= 1;
      parts.push(newLine(), token);
    } else if (token === ",") parts.push(token, newLine());
    else parts.push(token === ":" ? ": " : token);
  });
  return parts.join("");
}
