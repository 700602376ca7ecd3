// What TypeScript makes of the client. Compiled, not run.
import { WebSocket as Ws } from 'ws';
import {
  CallError,
  type Client,
  type ClientOptions,
  createClient,
  type Member,
  type Message,
  type Position,
  type Status,
  type Subscription,
  // biome-ignore lint/correctness/useImportExtensions: the built file, as users get it
} from '../../js/dist/client.mjs';

const options: ClientOptions = {
  getToken: async () => 'token',
  protocols: ['app'],
  fallback: 'sse',
  eventsPath: '/stream',
  WebSocket: Ws,
  fetch,
};
const client: Client = createClient(new URL('wss://a.example'), options);
void createClient('ws://a');
void createClient('ws://a', { getToken: () => undefined });
// @ts-expect-error there is no such option
void createClient('ws://a', { retry: true });
// @ts-expect-error not a class like WebSocket
void createClient('ws://a', { WebSocket: Date });
// @ts-expect-error there is no such fall-back
void createClient('ws://a', { fallback: 'poll' });

const end: () => void = client.onStatus((status: Status, reason) => [status === 'open', reason?.code.toFixed()]);
client.onMessage(({ data, channel }) => [data, channel?.trim()]);
client.onGap((channel, position) => [channel.trim(), position?.offset.toFixed()])();
end();
const { status, socketId } = client;
void [status === 'waiting', socketId?.trim()];
// @ts-expect-error it cannot be written
client.status = 'open';

const since: Position = { epoch: 'e', offset: 1 };
const room: Subscription<{ text: string }> = client.subscribe('room:1', {
  since,
  info: { name: 'me' },
  onMessage: ({ data, offset, timestamp, from }) =>
    void [data.text, offset?.toFixed(), timestamp?.toFixed(), from?.trim()],
  onJoin: (members: Member[]) => void members[0]?.socketId.trim(),
  onCount: (members) => void members.toFixed(),
  onGap: (position) => void position?.offset.toFixed(),
  onRecovered: ({ epoch }) => void epoch.trim(),
  onError: (error: CallError) => void error.code.trim(),
});
client.subscribe('room:1', { last: 20, onMessage: async () => {} });
// @ts-expect-error it is a number
client.subscribe('room:1', { last: '20' });
// @ts-expect-error there is no such callback
client.subscribe('room:1', { onMesage: () => {} });
// @ts-expect-error the type of the data is unknown
client.subscribe('room:1', { onMessage: ({ data }) => data.text });

export async function use(): Promise<void> {
  for await (const message of room) {
    const same: Message<{ text: string }> = message;
    void same.data.text;
  }
  const { position } = await client.publish('room:1', new Uint8Array(1), { queue: false, idempotencyKey: 'a' });
  void position?.offset.toFixed();
  const answer = await client.call<number>('buy', { id: 7 }, { timeoutMs: 1000 });
  answer.toFixed();
  // @ts-expect-error unknown
  (await client.call('buy')).id;
  const history = await room.history({ limit: 20, reverse: true, since });
  void [history.position.epoch, history.publications[0]?.data.text];
  void (await room.presence())[0]?.info;
  await room.setInfo({ away: true });
  void [room.channel, room.position?.offset];
  room.close();
}

client.handle('ask', async (params) => params)();
client.handle('refuse', () => {
  throw new CallError('busy', 'later');
});
client.close();
