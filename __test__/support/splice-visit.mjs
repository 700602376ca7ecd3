// A test of the splice client for each runtime and for browsers, with their own WebSocket. Resolves with its
// observations as JSON values. Imports nothing, so that a browser can load it.

/** `connect` is that of the client, `mux` and `target` are URLs; `lose` cuts the multiplexer's connections. */
export async function visit(connect, { mux, target, lose }) {
  const client = connect(mux, { reconnect: { min: 1, max: 50 } });
  const next = (from, type) => new Promise((resolve) => from.addEventListener(type, resolve, { once: true }));
  const seen = {};

  const socket = client.open(target, { protocols: ['a', 'b'], headers: { 'X-Name': 'visitor' } });
  await next(socket, 'open');
  const answer = async (data) => {
    socket.send(data);
    return (await next(socket, 'message')).data;
  };
  seen.protocol = socket.protocol;
  seen.text = await answer('caf\u{e9} \u{1f600}');
  const blob = await answer(Uint8Array.of(1, 200, 3));
  seen.blob = [blob instanceof Blob, ...new Uint8Array(await blob.arrayBuffer())];
  socket.binaryType = 'arraybuffer';
  const buffer = await answer(new Blob([Uint8Array.of(4, 255)]));
  seen.buffer = [buffer instanceof ArrayBuffer, ...new Uint8Array(buffer)];

  const others = await Promise.all(
    Array.from({ length: 150 }, async () => {
      const other = client.open(target);
      await next(other, 'open');
      return other;
    }),
  );
  const echoes = others.map((other) => next(other, 'message'));
  for (const [index, other] of others.entries()) other.send(`number ${index}`);
  seen.many = (await Promise.all(echoes)).filter(({ data }, index) => data === `number ${index}`).length;
  for (const other of others) other.close();

  const brief = client.open(`${target}/bye`, { headers: { 'X-Name': 'you' } });
  const told = [];
  await next(brief, 'open');
  brief.onmessage = ({ data }) => told.push(data);
  const end = await next(brief, 'close');
  seen.brief = [...told, end.code, end.reason, end.wasClean, end.constructor.name.endsWith('Event')];

  const failing = client.open('ws://127.0.0.1:1/');
  const [failure, after] = await Promise.all([next(failing, 'error'), next(failing, 'close')]);
  seen.failing = [failure.code, after.code];

  const reopened = next(socket, 'open');
  await lose();
  await reopened;
  seen.reopened = await answer('again');
  socket.close(3456, 'done');
  const closed = await next(socket, 'close');
  seen.closed = [closed.code, closed.reason, closed.wasClean];

  const over = next(client, 'close');
  client.close(4000, 'over');
  const { wasClean } = await over;
  seen.over = [wasClean, client.readyState];
  return seen;
}

/** The expected observations. */
export const SEEN = {
  protocol: 'b',
  text: 'caf\u{e9} \u{1f600}',
  blob: [true, 1, 200, 3],
  buffer: [true, 4, 255],
  many: 150,
  brief: ['hello you', 'again you', 4001, 'bye', true, true],
  failing: [4007, 1006],
  reopened: 'again',
  closed: [3456, 'done', true],
  over: [true, 3],
};
