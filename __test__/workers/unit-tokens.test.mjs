// Serializing and reading tokens that are not bytes.
import { createRequire } from 'node:module';
import test from 'ava';

const { readValue, storedToken } = createRequire(import.meta.url)('../../js/dist/worker/token.js');
const AT = "argument 'token'";
const empty = () => ({ token: undefined, tokenStamp: '' });
const kept = (value) => readValue(storedToken(value, AT).data, empty());

test('bytes and texts are stored unchanged', (t) => {
  for (const bytes of ['', 'text', new Uint8Array([1]), Buffer.from('b'), new ArrayBuffer(2)]) {
    const stored = storedToken(bytes, AT);
    t.is(stored.data, bytes);
    t.false(stored.isValue);
  }
  t.deepEqual(storedToken(undefined, AT), { data: undefined, isValue: false });
});

test('any other value is cloned', (t) => {
  const circle = { name: 'circle' };
  circle.self = circle;
  const values = [
    null,
    true,
    5,
    5n,
    { a: [1, { b: 'ü' }] },
    [],
    new Date(0),
    new Map([['a', new Set([1])]]),
    /x/g,
    circle,
  ];
  for (const value of values) {
    t.true(storedToken(value, AT).isValue);
    t.deepEqual(kept(value), value);
  }
  t.deepEqual([...kept(new Uint16Array([1, 65_535]))], [1, 65_535]);
  t.is(kept(new Error('why')).message, 'why');
});

test('a value that cannot be cloned is an error that names the argument', (t) => {
  for (const value of [() => {}, Symbol('s'), { deep: [() => {}] }, new WeakMap()]) {
    t.throws(() => storedToken(value, AT), {
      instanceOf: TypeError,
      message: /^argument 'token' must be bytes, or a value that can be cloned: /,
    });
  }
});

test('a stored value is read once, and again after an equal value was stored', (t) => {
  const holder = empty();
  const { data } = storedToken({ count: 0 }, AT);
  const first = readValue(data, holder);
  first.count += 1;
  t.is(readValue(Buffer.from(data), holder), first);
  const second = readValue(storedToken({ count: 0 }, AT).data, holder);
  t.not(second, first);
  t.deepEqual(second, { count: 0 });
  t.is(holder.token, second);
});
