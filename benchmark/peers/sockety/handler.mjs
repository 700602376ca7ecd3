// The handlers of a Sockety server, Millrace or the original: the actions of the rows, and `count`, which returns what
// arrived.
import { threadId } from 'node:worker_threads';
import { readAll } from './read-all.mjs';

/**
 * Makes the handler of messages, and a function that counts a reported heartbeat. `bytes` returns how many bytes the sockets
 * of this server have read, or null if that is unknown.
 */
export function makeHandler({ MessageHandler, ResponseDraft, FastReply }, bytes) {
  let handled = 0;
  const pong = new ResponseDraft().optimize();
  const counts = new ResponseDraft().data().optimize();
  const handler = new MessageHandler()
    .action('ping', () => {
      handled++;
    })
    .action('fast', () => {
      handled++;
      return FastReply.Accept;
    })
    .action('echo', (message) => {
      handled++;
      return message.respond(pong()).sent();
    })
    .action('read', async (message) => {
      handled++;
      const parts = [...(message.data ? [message.data] : []), ...message.files];
      const sizes = await Promise.all(parts.map((part) => readAll(part, part.size)));
      const size = sizes.reduce((sum, each) => sum + each, 0);
      return size === message.dataSize + message.totalFilesSize ? FastReply.Accept : FastReply.BadRequest;
    })
    .action('count', (message) => {
      const data = JSON.stringify({ worker: threadId, handled, bytes: bytes() });
      return message.respond(counts({ data })).sent();
    });
  const countHeartbeat = () => {
    handled++;
  };
  return { handler: handler.optimize(), countHeartbeat };
}
