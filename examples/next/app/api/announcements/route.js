import { announce } from '../../../announcements.mjs';

/** @param {Request} request */
export async function POST(request) {
  const text = (await request.formData()).get('text');
  if (typeof text !== 'string' || text.trim() === '' || text.length > 1000) {
    return Response.json({ error: 'an announcement has a text' }, { status: 400 });
  }
  announce(text);
  return Response.json({ text }, { status: 201 });
}
