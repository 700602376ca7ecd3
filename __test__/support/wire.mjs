// Values on the control channel and in the commands of the test workers: JSON with an encoding for other values (bytes,
// undefined, NaN, bigint, Date and so on), so that a test can pass any argument to any thread.

const base64 = (view) => Buffer.from(view.buffer, view.byteOffset, view.byteLength).toString('base64');

/** Converts a value to one for JSON. Functions and symbols become markers, for which `decode` makes new ones. */
export function encode(value) {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value;
  switch (typeof value) {
    case 'undefined':
      return { $: 'undefined' };
    case 'number':
      return Number.isFinite(value) && !Object.is(value, -0)
        ? value
        : { $: 'number', text: Object.is(value, -0) ? '-0' : String(value) };
    case 'bigint':
      return { $: 'bigint', text: String(value) };
    case 'symbol':
      return { $: 'symbol' };
    case 'function':
      return { $: 'function' };
    default:
      return encodeObject(value);
  }
}

function encodeObject(value) {
  if (Array.isArray(value)) return value.map(encode);
  if (value instanceof Uint8Array) return { $: 'bytes', base64: base64(value) };
  if (ArrayBuffer.isView(value)) return { $: 'view', type: value.constructor.name, base64: base64(value) };
  if (value instanceof ArrayBuffer) return { $: 'buffer', base64: base64(new Uint8Array(value)) };
  if (value instanceof SharedArrayBuffer) return { $: 'shared', base64: base64(new Uint8Array(value)) };
  if (value instanceof Error) {
    const { name, message, code, stack, cause } = value;
    return { $: 'error', name, message, code: encode(code), stack, cause: encode(cause) };
  }
  if (value instanceof Date) return { $: 'date', time: value.getTime() };
  if (value instanceof URL) return { $: 'url', href: value.href };
  return { $: 'object', entries: Object.entries(value).map(([name, item]) => [name, encode(item)]) };
}

/** The inverse of `encode`; bytes come back as Buffers, errors as plain Error objects with name and code. */
export function decode(value) {
  if (value === null || typeof value !== 'object') return value;
  if (Array.isArray(value)) return value.map(decode);
  const bytes = value.base64 === undefined ? undefined : Buffer.from(value.base64, 'base64');
  switch (value.$) {
    case 'undefined':
      return undefined;
    case 'number':
      return Number(value.text);
    case 'bigint':
      return BigInt(value.text);
    case 'symbol':
      return Symbol('test');
    case 'function':
      return () => {};
    case 'bytes':
      return bytes;
    case 'view':
      return new globalThis[value.type](Uint8Array.from(bytes).buffer);
    case 'buffer':
      return Uint8Array.from(bytes).buffer;
    case 'shared': {
      const shared = new SharedArrayBuffer(bytes.length);
      new Uint8Array(shared).set(bytes);
      return shared;
    }
    case 'date':
      return new Date(value.time);
    case 'url':
      return new URL(value.href);
    case 'error':
      return Object.assign(new Error(value.message, { cause: decode(value.cause) }), {
        name: value.name,
        code: decode(value.code),
        remoteStack: value.stack,
      });
    default:
      return Object.fromEntries(value.entries.map(([name, item]) => [name, decode(item)]));
  }
}
