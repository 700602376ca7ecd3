// @ts-check
// JavaScript only subscribes the sockets. The figures do not pass through it.
import { subscribe } from 'millrace';

/** What publish.py publishes to. */
const SENSORS = ['sensor:inlet', 'sensor:wheel', 'sensor:outlet'];

/** @param {number} socketId */
export function handleOpen(socketId) {
  for (const sensor of SENSORS) subscribe(socketId, sensor);
  return true;
}
