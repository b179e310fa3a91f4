import { FoldHorizontal, Maximize2, ZoomIn, ZoomOut } from 'lucide-react';
import { Button, IconButton } from '../../ui/button';
import { cx } from '../../ui/classes';
import { Kbd } from '../../ui/small';
import { Legend } from './legend';

/** What the bars mean, and how much of the time is shown. */
export function Toolbar({
  folded,
  zoomedIn,
  onFold,
  onZoom,
  onFit,
}: {
  folded: boolean;
  zoomedIn: boolean;
  onFold: () => void;
  onZoom: (factor: number) => void;
  onFit: () => void;
}) {
  return (
    <div className="flex shrink-0 flex-wrap items-center gap-x-4 gap-y-1.5 border-b px-4 py-2">
      <Legend />
      <span className="flex-1" />
      <div className="flex items-center gap-1">
        <Button
          size="small"
          look="ghost"
          aria-pressed={folded}
          onClick={onFold}
          className={cx(folded && 'bg-active text-fg')}
        >
          <FoldHorizontal className="size-3.5" aria-hidden="true" />
          Fold idle time
        </Button>
        <IconButton label="Zoom in" hint={<Kbd>+</Kbd>} onClick={() => onZoom(0.5)}>
          <ZoomIn className="size-3.5" aria-hidden="true" />
        </IconButton>
        <IconButton
          label="Zoom out"
          hint={<Kbd>−</Kbd>}
          disabled={!zoomedIn}
          onClick={() => onZoom(2)}
        >
          <ZoomOut className="size-3.5" aria-hidden="true" />
        </IconButton>
        <Button size="small" look="ghost" disabled={!zoomedIn} onClick={onFit}>
          <Maximize2 className="size-3.5" aria-hidden="true" />
          Fit
        </Button>
      </div>
    </div>
  );
}
