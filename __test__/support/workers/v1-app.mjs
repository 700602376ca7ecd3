// An app with a path for each way to answer clients of `millrace.v1`.
import express from '../http-app.mjs';

const app = express();
export default app;

app.ws('/asked/:name', {
  subscribe: ({ params }, channel, { info }) => channel === `room:${params.name}` && info !== 'no',
  publish: async (socket, _channel, data) => ({ data: `${socket.params.name}: ${data}` }),
  async call(socket, method, params) {
    if (method === 'back') return `client said ${await socket.call('question', { of: String(params) })}`;
    return { method, params: String(params), name: socket.params.name };
  },
});
app.ws('/plain', {});
