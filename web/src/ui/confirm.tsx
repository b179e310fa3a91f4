import { type ReactNode, useState } from 'react';
import { Button } from './button';
import { Dialog } from './dialog';
import { toastError } from './toast';

/** Asks before something that cannot be undone. */
export function Confirm({
  title,
  act,
  onAct,
  onClose,
  children,
}: {
  title: string;
  /** What the button does. */
  act: string;
  onAct: () => Promise<void>;
  onClose: () => void;
  children: ReactNode;
}) {
  const [busy, setBusy] = useState(false);
  const go = async () => {
    setBusy(true);
    try {
      await onAct();
      onClose();
    } catch (error) {
      toastError(error);
      setBusy(false);
    }
  };
  return (
    <Dialog title={title} open onClose={onClose}>
      <div className="p-4 text-sm">
        <p>{children}</p>
        <div className="mt-4 flex justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button look="danger" disabled={busy} onClick={() => void go()}>
            {act}
          </Button>
        </div>
      </div>
    </Dialog>
  );
}
