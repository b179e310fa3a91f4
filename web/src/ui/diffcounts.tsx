/** How much comes and goes. */
export function DiffCounts({ added, removed }: { added: number; removed: number }) {
  return (
    <span className="tnum shrink-0 font-mono text-2xs">
      <span data-s="done" className="st st-fg">
        +{added}
        <span className="sr-only"> added</span>
      </span>{' '}
      <span data-s="failed" className="st st-fg">
        −{removed}
        <span className="sr-only"> removed</span>
      </span>
    </span>
  );
}
