// What TypeScript makes of the splice client. Compiled, not run.
import { WebSocket as Ws } from 'ws';
// biome-ignore lint/correctness/useImportExtensions: the built file, as users get it
import { type ConnectOptions, connect, type Splice, SpliceSocket } from '../../js/dist/splice-client.mjs';

const options: ConnectOptions = { reconnect: { min: 100, max: 1000 }, protocols: ['a'], WebSocket: Ws };
const mux: Splice = connect(new URL('wss://a.example'), options);
void connect('ws://a', { reconnect: true });
// @ts-expect-error there is no such option
void connect('ws://a', { retry: true });
// @ts-expect-error not a class like WebSocket
void connect('ws://a', { WebSocket: Date });
mux.addEventListener('close', ({ code, reason, wasClean }) => [code.toFixed(), reason.trim(), wasClean === true]);
mux.addEventListener('warn', ({ code, message }) => [code?.toFixed(), message?.trim()], { once: true });
mux.addEventListener('anything', (event: Event) => event.type);
mux.close(1000, 'enough');

const socket: SpliceSocket = mux.open('ws://a', { protocols: 'chat', headers: { Origin: 'https://a' }, timeout: 1000 });
// @ts-expect-error sockets are made by open
void new SpliceSocket();
socket.onmessage = ({ data }) => void (data as string).trim();
socket.onclose = ({ code }) => code.toFixed();
socket.onerror = ({ message }) => message?.trim();
socket.onreconnecting = null;
socket.addEventListener('open', () => socket.send('a'));
socket.addEventListener('message', { handleEvent: (event: Event) => event.type });
socket.binaryType = 'arraybuffer';
// @ts-expect-error that is one of `ws`
socket.binaryType = 'nodebuffer';
socket.send(new Uint8Array(1));
socket.send(new Blob(['a']));
socket.send(new ArrayBuffer(1));
// @ts-expect-error no message
socket.send({});
// @ts-expect-error it cannot be written
socket.readyState = 1;
void (socket.readyState === SpliceSocket.OPEN && socket.bufferedAmount.toFixed());
