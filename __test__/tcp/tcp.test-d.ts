// What TypeScript makes of the servers and connections of millrace/tcp. Compiled, not run.
import {
  createServer,
  type TCPCallback,
  type TCPConnection,
  type TCPServer,
  type TCPServerOptions,
  // biome-ignore lint/correctness/useImportExtensions: the built file, as users get it
} from '../../js/dist/tcp.mjs';

const options: TCPServerOptions = { bufferLimit: 1, writeLimit: 4096, endTimeoutMs: 1, reusePort: true };
const server: TCPServer = createServer(options);
server.onConnection = (connection) => void connection.remoteAddr.length;
server.onData = async function (connection: TCPConnection) {
  const text: string | null = connection.read();
  const bytes: Buffer | null = connection.readBytes(10);
  connection.buffer = connection.buffer.slice(1);
  connection.bytes = connection.bytes.subarray(1);
  connection.bytes = new Uint8Array(2);
  const taken: number = connection.write(text ?? '') + connection.write(new DataView(new ArrayBuffer(1)));
  const closed: boolean = connection.close() && this.closeConnection(connection);
  void [bytes, taken, closed, connection.closed, this.port];
};
server.onEnd = server.onDrain = server.onClose = null;
server.onError = (error: Error, connection) => void [error.message, connection?.fd.toFixed()];
const callback: TCPCallback = (connection) => {
  connection.write(connection.buffer);
};
server.onData = callback;
void server.listen(0).then((same: TCPServer) => same.address()?.port);
void server.listen(0, '127.0.0.1');
void server.close().then(() => server.listening);
createServer({ stopOnSignals: true }).stopOnSignals({ drain: 1 });
void createServer({ stopOnSignals: { drain: 1 } }).stopped.then((nothing: void) => nothing);
// @ts-expect-error only the stop of a gateway is spread
createServer({ stopOnSignals: { drain: 1, spread: 1 } });
// @ts-expect-error a number of milliseconds
server.stopOnSignals({ drain: '1' });
for (const [fd, connection] of server.connections) void [fd.toFixed(), connection.remotePort.toFixed()];

// @ts-expect-error there is no such option
createServer({ backlog: 1 });
// @ts-expect-error a port is needed
server.listen();
// @ts-expect-error no address
server.listen(0, 7);
server.onConnection = (connection) => {
  // @ts-expect-error no number is sent
  connection.write(7);
  // @ts-expect-error it is given
  connection.fd = 7;
  // @ts-expect-error no bytes
  connection.buffer = Buffer.of(1);
  // @ts-expect-error no text
  connection.bytes = 'text';
};
// @ts-expect-error there is no such callback
server.onMessage = () => {};
