// The worker of the Millrace peer in `sockety`.
import { stats } from 'millrace';
import * as sockety from 'millrace/sockety';
import { makeHandler } from './handler.mjs';

export const { handler: handleSocketyMessage } = makeHandler(sockety, () => stats().bytesIn);
