// A route of the API, which answers with the request.
export default function handler(req, res) {
  res.setHeader('X-Api', '1');
  res
    .status(req.method === 'POST' ? 201 : 200)
    .json({ method: req.method, query: req.query, body: req.body, cookies: req.cookies });
}
