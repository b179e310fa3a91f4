import { Navigate } from '@tanstack/react-router';
import { useList } from '../store/hooks';
import { Skeleton } from '../ui/small';

/** Leads to the conversation that was written to last, or to a new one. */
export function Home() {
  const ready = useList((list) => list.ready);
  const last = useList(
    (list) =>
      [...list.conversations.all()].sort(
        (a, b) => Date.parse(b.updated_at) - Date.parse(a.updated_at),
      )[0]?.id,
  );
  if (last) return <Navigate to="/c/$id" params={{ id: last }} replace />;
  if (ready) return <Navigate to="/new" replace />;
  return <Skeleton className="m-6 h-6 w-64" />;
}
