// Stores `count` keys.
export default function manyKeys(millrace, count) {
  for (let index = 0; index < count; index++) millrace.setKey(`key ${index}`, `value ${index}`);
}
