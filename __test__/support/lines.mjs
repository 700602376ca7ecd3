// Lines of a stream, which end at a line feed and nowhere else: for some versions of `node:readline`, U+2028 ends one, too.

/** Calls `handle` with each line that ends. */
export function eachLine(stream, handle) {
  let rest = '';
  stream.setEncoding('utf8').on('data', (piece) => {
    const lines = (rest + piece).split('\n');
    rest = lines.pop();
    for (const line of lines) handle(line);
  });
}
