import { Kbd } from '../../ui/small';
import { written } from './chord';
import type { ActionId } from './map';
import { useChord } from './own';

/** The keys of a chord, each as a cap. */
export function Caps({ chord }: { chord: string }) {
  return (
    <span className="inline-flex gap-0.5">
      {written(chord).map((key) => (
        <Kbd key={key}>{key}</Kbd>
      ))}
    </span>
  );
}

/** The keys of an action as they are now, for tooltips and hints. */
export function ActionKeys({ action }: { action: ActionId }) {
  return <Caps chord={useChord(action)} />;
}
