// @ts-check
import { createClient } from 'millrace/client';

/** One connection for all components of the page. The page comes from the server or from Vite, which hands the socket on. */
export const client = createClient(`${location.origin.replace(/^http/, 'ws')}/channels`);
