// Accepts clients by the token of `getToken`, as the guide of the client shows.
import { close } from '../millrace.mjs';

export function handleOpen(socketId, _ip, headers, { protocols, transport }) {
  const given = tokenOf(headers, protocols);
  const [user, kind = 'wrong'] = given?.split('|') ?? [];
  if (kind === 'unwanted') return { status: 401 };
  // behind the upgrade, so that pages see it
  if (kind === 'wrong') setImmediate(close, socketId, 4001, 'the token was refused');
  return { token: { user: kind === 'wrong' ? undefined : user, transport } };
}

function tokenOf(headers, protocols) {
  const offered = protocols.find((name) => name.startsWith('token.'));
  if (offered !== undefined) return Buffer.from(offered.slice('token.'.length), 'base64url').toString();
  return headers.authorization?.replace(/^Bearer /, '');
}

/** A call may come before the close; then it is not answered. */
export function handleCall(_method, _params, _socketId, token) {
  return token.user === undefined ? new Promise(() => {}) : token;
}
