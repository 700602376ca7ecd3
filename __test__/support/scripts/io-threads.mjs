// The names of the I/O threads that there are now.
import { ioThreads } from '../io-threads.mjs';

export default () => ioThreads().sort();
