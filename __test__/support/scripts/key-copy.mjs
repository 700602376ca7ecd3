// Changes the bytes that getKey returned and that setKey got, and returns the stored value.
export default function keyCopy(millrace, key) {
  const given = new TextEncoder().encode('original');
  millrace.setKey(key, given);
  given.fill(0);
  millrace.getKey(key).fill(0);
  return Buffer.from(millrace.getKey(key)).toString();
}
