import { type RefObject, useEffect, useId, useRef, useState } from 'react';
import { ActionKeys } from '../../shell/keys/keycap';
import { Button } from '../../ui/button';
import { type KeyActions, SUBMIT } from './keys';
import { Decide } from './parts';

/** As long as the server takes it. */
const LONGEST = 2000;

/** Why not. The agent is told, and does better for it; nobody has to say anything. */
export function DenyNote({
  ready,
  keys,
  onBack,
  onDeny,
}: {
  ready: boolean;
  keys: RefObject<KeyActions>;
  onBack: () => void;
  onDeny: (note: string) => void;
}) {
  const [note, setNote] = useState('');
  const field = useRef<HTMLTextAreaElement>(null);
  const id = useId();
  // The person has just asked to deny, so this is where they are.
  useEffect(() => field.current?.focus(), []);
  const deny = () => onDeny(note.trim());
  useEffect(() => {
    keys.current = ready ? { [SUBMIT]: deny } : {};
  });
  return (
    <div className="space-y-2">
      <label htmlFor={id} className="block text-sm">
        Tell the agent what to do instead <span className="text-fg-3">(optional)</span>
      </label>
      <textarea
        ref={field}
        id={id}
        rows={2}
        value={note}
        maxLength={LONGEST}
        onChange={(event) => setNote(event.target.value)}
        className="field-sizing-content block max-h-40 w-full resize-none rounded-lg border border-line-control bg-surface px-3 py-2 text-sm"
      />
      <div className="flex gap-2">
        <Decide look="danger" ready={ready} onClick={deny} className="max-sm:h-11 max-sm:flex-1">
          Deny <ActionKeys action="ask.submit" />
        </Decide>
        <Button look="ghost" onClick={onBack} className="max-sm:h-11">
          Back
        </Button>
      </div>
    </div>
  );
}
