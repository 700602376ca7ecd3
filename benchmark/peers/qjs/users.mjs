// The data of the servers in the scenario `qjs`: some users, and the requests.
export const users = [
  { id: 1, name: 'Ada Lovelace', email: 'ada@example.org' },
  { id: 2, name: 'Grace Hopper', email: 'grace@example.org' },
  { id: 3, name: 'Katherine Johnson', email: 'katherine@example.org' },
];

/** The user of an id as it is in a path. */
export const find = (id) => users.find((user) => String(user.id) === id);

/** By path: the answer. The generator compares the JSON byte by byte. */
export const answers = { '/api/users': users, '/api/users/1': users[0] };
