import { Link } from '@tanstack/react-router';
import { EmptyState } from '../ui/small';

export function NotFound() {
  return (
    <EmptyState
      page
      title="There is no such page"
      action={
        <Link to="/new" className="text-accent text-sm underline">
          Start a conversation
        </Link>
      }
    >
      The address may be mistyped.
    </EmptyState>
  );
}
