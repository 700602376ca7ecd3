import { announcements } from '../announcements.mjs';
import { Announcements } from './announcements.jsx';

// rendered for each request, not when the project is built
export const dynamic = 'force-dynamic';

export default function Page() {
  return (
    <main>
      <h1>Announcements</h1>
      <Announcements initial={announcements()} />
    </main>
  );
}
