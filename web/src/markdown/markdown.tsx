import { memo, useMemo, useRef } from 'react';
import { cx } from '../ui/classes';
import { Block } from './block';
import { BlockStream, splitBlocks } from './blocks';

/** What an agent wrote, whole. */
export const Markdown = memo(function Markdown({ text }: { text: string }) {
  const blocks = useMemo(() => splitBlocks(text), [text]);
  return <Blocks blocks={blocks} />;
});

/** What an agent is writing. The text grows; only its last block is drawn again. */
export function StreamingMarkdown({ text }: { text: string }) {
  const stream = useRef(new BlockStream());
  stream.current = stream.current.sync(text);
  return <Blocks blocks={stream.current.all()} streaming />;
}

/** Blocks under each other. Lists that are long draw each one as a row of their own. */
function Blocks({ blocks, streaming = false }: { blocks: readonly string[]; streaming?: boolean }) {
  return (
    <div className="prose">
      {blocks.map((raw, index) => {
        const open = streaming && index === blocks.length - 1;
        return (
          <div key={index} className={cx(open ? 'caret-host' : 'settled')}>
            <Block raw={raw} open={open} />
          </div>
        );
      })}
    </div>
  );
}
