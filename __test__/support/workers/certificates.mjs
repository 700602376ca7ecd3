// Sends each client what handleOpen is told of its certificate, as JSON.
import { send } from '../millrace.mjs';

export function handleOpen(socketId, _ip, _headers, { clientCertificate }) {
  const { subject, raw } = clientCertificate ?? {};
  send(socketId, JSON.stringify(clientCertificate ? { subject, raw: Buffer.from(raw).toString('base64') } : null));
}
