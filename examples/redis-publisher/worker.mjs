// @ts-check
// All that JavaScript has to do: say who hears what. The figures pass by.
import { subscribe } from 'millrace';

/** What publish.py publishes to. */
const SENSORS = ['sensor:inlet', 'sensor:wheel', 'sensor:outlet'];

/** @param {number} socketId */
export function handleOpen(socketId) {
  for (const sensor of SENSORS) subscribe(socketId, sensor);
  return true;
}
