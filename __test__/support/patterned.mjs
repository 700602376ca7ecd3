// Text that compresses well, and differs from one index to the next.

/**
 * @param {number} index
 * @param {number} length
 */
export function patterned(index, length) {
  const head = `${index} `;
  if (length <= head.length) return head.slice(0, length);
  const parts = [head];
  for (let size = head.length, number = index * 1000; size < length; number++) {
    const part = `{"id":${number},"name":"player ${number % 97}","x":${(number * 7919) % 1009}},`;
    parts.push(part);
    size += part.length;
  }
  return parts.join('').slice(0, length);
}
