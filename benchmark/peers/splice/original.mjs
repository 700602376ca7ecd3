// Peer: the original wsplice as it is installed, with the limits of its own benchmark. This program starts it,
// so that it has its own port; the kernel ends it when this process ends.
import { spawn } from 'node:child_process';
import { connect, createServer } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { option, ready } from '../peer.mjs';

const port = await freePort();
const command = [
  option('wsplice'),
  ...[`--listen=127.0.0.1:${port}`, '--allowed-hostnames=127.0.0.1', '--frame-size-limit=512KB'],
];
const wsplice = spawn('setpriv', ['--pdeathsig', 'KILL', ...command], { stdio: ['ignore', 'ignore', 'inherit'] });
wsplice.once('exit', (code) => process.exit(code ?? 0));
process.once('SIGTERM', () => wsplice.kill('SIGKILL'));
while (!(await answers())) await setTimeout(20);
ready(port, wsplice.pid);

/** A port that was free a moment ago: wsplice cannot choose one itself. */
function freePort() {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

function answers() {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => socket.end() && resolve(true));
    socket.once('error', () => resolve(false));
  });
}
