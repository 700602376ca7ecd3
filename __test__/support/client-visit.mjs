// A test of the client for each runtime and for browsers, with their own WebSocket. Resolves with its observations as
// JSON values. Imports nothing, so that a browser can load it.

/** `createClient` is that of the client; `cut` cuts the server's connections, `publish` publishes to `room`. */
export async function visit(createClient, { url, options, cut, publish }) {
  const seen = { statuses: [], messages: [] };
  const client = createClient(url, { getToken: async () => 'caf\u{e9}', ...options });
  client.onStatus((status) => seen.statuses.push(status));
  client.handle('double', (number) => number * 2);
  let [arrived, recovered] = [() => {}, () => {}];
  const room = client.subscribe('room', {
    info: { name: 'visitor' },
    onMessage: ({ data }) => {
      seen.messages.push(data instanceof Uint8Array ? [...data] : data);
      arrived();
    },
    onRecovered: () => recovered(),
    onGap: () => seen.messages.push('gap'),
  });
  const messages = async (count) => {
    while (seen.messages.length < count) {
      await new Promise((resolve) => {
        arrived = resolve;
      });
    }
  };
  await client.publish('room', { text: 'caf\u{e9} \u{1f600}' });
  await client.publish('room', Uint8Array.of(0, 10, 255));
  await messages(2);
  seen.answer = await client.call('echo', Uint8Array.of(1, 2)).then((bytes) => [...bytes]);
  seen.asked = await client.call('ask me', 21);
  seen.refused = await client.call('none').catch(({ code, message }) => [code, message]);
  seen.members = (await room.presence()).map(({ info }) => info);

  const back = new Promise((resolve) => {
    recovered = resolve;
  });
  await cut();
  await publish('missed');
  await back;
  await messages(3);
  await publish('live');
  await messages(4);
  seen.history = (await room.history({ limit: 2, reverse: true })).publications.map(({ offset }) => offset);
  client.close();
  return seen;
}

/** The expected observations. */
export const SEEN = {
  statuses: ['open', 'waiting', 'connecting', 'open', 'closed'],
  messages: [{ text: 'caf\u{e9} \u{1f600}' }, [0, 10, 255], 'missed', 'live'],
  answer: [1, 2],
  asked: 42,
  refused: ['not_found', 'not_found'],
  members: [{ name: 'visitor' }],
  history: [4, 3],
};
