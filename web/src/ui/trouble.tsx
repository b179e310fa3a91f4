import { explain } from '../api/problem';
import { Button } from './button';
import { EmptyState } from './small';

/** Why something could not be read, and a way to try again. */
export function ReadTrouble({ error, again }: { error: unknown; again: () => void }) {
  const { what, next } = explain(error);
  return (
    <EmptyState title={what} action={<Button onClick={again}>Try again</Button>}>
      {next}
    </EmptyState>
  );
}
