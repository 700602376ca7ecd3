// A program with an app: it answers a request, and then has an error outside of requests.
import { createApp } from './http-app.mjs';

const app = createApp().get('/', (_req, res) => res.text('fine'));
const { address } = await app.listen(0, '127.0.0.1').ready;
await (await fetch(`http://${address}/`)).text();
if (process.argv[2] === 'rejection') Promise.reject(new Error('outside of requests'));
else setTimeout(outside);

function outside() {
  throw new Error('outside of requests');
}
