// @ts-check
/** Users, kept in memory, and the routes that list, create, change and delete them. */
import { HttpError, Router } from 'millrace/http';

/** @typedef {{ id: number, name: string, email: string }} User */

/** The routes, to be mounted at a path. Each router has its own users. */
export function usersRouter() {
  /** @type {Map<number, User>} */
  const users = new Map();
  let last = 0;
  for (const [name, email] of [
    ['Anna', 'anna@example.org'],
    ['Ben', 'ben@example.org'],
  ]) {
    last += 1;
    users.set(last, { id: last, name: String(name), email: String(email) });
  }

  /** @param {import('millrace/http').Request} req */
  const find = (req) => {
    const user = users.get(Number(req.params.id));
    if (user === undefined) throw new HttpError(404, `there is no user ${req.params.id}`);
    return user;
  };

  const router = new Router();
  router.get('/', (req, res) => {
    const name = req.query.name?.toLowerCase() ?? '';
    res.json([...users.values()].filter((user) => user.name.toLowerCase().includes(name)));
  });
  router.get('/:id', (req, res) => res.json(find(req)));
  router.post('/', (req, res) => {
    if (users.size >= MOST_USERS) throw new HttpError(409, `there are ${MOST_USERS} users already`);
    last += 1;
    const user = { id: last, ...readUser(req.json) };
    users.set(user.id, user);
    res.set('Location', `${req.path}/${user.id}`).json(user, 201);
  });
  router.put('/:id', (req, res) => res.json(Object.assign(find(req), readUser(req.json))));
  router.delete('/:id', (req, res) => {
    users.delete(find(req).id);
    res.status(204).end();
  });
  return router;
}

/**
 * Checks a user that a client sent.
 * @param {unknown} value
 * @throws {HttpError} 400 saying what is wrong
 */
function readUser(value) {
  const { name, email } = /** @type {Record<string, unknown>} */ (Object(value));
  if (typeof name !== 'string' || name.trim() === '' || name.length > 100) {
    throw new HttpError(400, 'name must be a text of 1 to 100 characters');
  }
  if (typeof email !== 'string' || !/^[^@\s]+@[^@\s]+$/.test(email) || email.length > 100) {
    throw new HttpError(400, 'email must be an address of at most 100 characters');
  }
  return { name: name.trim(), email };
}

/** They are kept in memory. */
const MOST_USERS = 10_000;
