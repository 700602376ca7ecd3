// Reads a stream of a known length. Not by `for await`: in the original, streams of files never end.

/** Resolves with the number of bytes when `size` bytes have arrived; passes each chunk to `take`. */
export function readAll(stream, size, take = () => {}) {
  return new Promise((resolve, reject) => {
    let came = 0;
    stream.on('data', (chunk) => {
      came += chunk.length;
      take(chunk);
      if (came >= size) resolve(came);
    });
    stream.once('error', reject);
    stream.once('close', () => resolve(came));
    if (size === 0) resolve(0);
  });
}
