// The pages of the strict server as an app: each answers with its request.
import express from '../http-app.mjs';

const app = express();
export default app;

for (const page of ['/', '/about', '/status']) app.get(page, (_req, res) => res.html(`<h1>${page}</h1>`));
app.all('/api/echo', (req, res) => {
  const { method, url, query, headers, body, json, form } = req;
  res.json({ method, url, query, type: headers['content-type'], body, json, form });
});
