// The worker of the Millrace peer in `http-app`.
import express from 'millrace/http';
import { user } from '../http/content.mjs';

const app = express();
app.get('/users/:id', (request, response) => response.json(user(request.params.id)));

export default app;
