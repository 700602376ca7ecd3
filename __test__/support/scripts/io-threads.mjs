// The names of the current I/O threads.
import { ioThreads } from '../io-threads.mjs';

export default () => ioThreads().sort();
