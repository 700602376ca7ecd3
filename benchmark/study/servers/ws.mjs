// The study's server on the `ws` package, one process: the standalone original.
import { exitOnSignals, ready } from './answer.mjs';
import { listen } from './ws-listener.mjs';

const exit = () => process.kill(process.pid, 'SIGKILL');
const { close } = listen({ port: 0, worker: process.pid, exit, listening: ready });
exitOnSignals(close);
