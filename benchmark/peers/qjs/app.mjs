// The example app of the scenario `qjs`, for Express and for `millrace/http`, which have the same API: a middleware,
// routes that list, read, create, change and delete users, and a health check. It writes no log lines.
import { find, users } from './users.mjs';

export function usersApp(express) {
  let requests = 0;
  const app = express();
  app.use((_request, _response, next) => {
    requests++;
    next();
  });
  app.use(express.json());
  app.get('/api/users', (_request, response) => response.json(users));
  app.get('/api/users/:id', (request, response) => {
    const user = find(request.params.id);
    if (user) response.json(user);
    else response.status(404).json({ error: 'not found' });
  });
  app.post('/api/users', (request, response) => {
    const user = { id: users.length + 1, ...request.body };
    users.push(user);
    response.status(201).json(user);
  });
  app.put('/api/users/:id', (request, response) => {
    const user = find(request.params.id);
    if (user) response.json(Object.assign(user, request.body));
    else response.status(404).json({ error: 'not found' });
  });
  app.delete('/api/users/:id', (request, response) => {
    const user = find(request.params.id);
    if (user) users.splice(users.indexOf(user), 1);
    response.status(user ? 204 : 404).end();
  });
  app.get('/health', (_request, response) => response.json({ ok: true, requests }));
  return app;
}
