import { CircleCheck, CircleDashed } from 'lucide-react';
import type { Settings } from '../../api/installation';
import { Layer, Row, Rows, Section } from './parts';

const modes: Record<Settings['mode'], string> = {
  local: 'Single-user installation.',
  hosted: 'Several people share this server.',
  demo: 'This is the demo: a scripted model answers, and no real one is asked.',
};

/** Who answers: providers, whether their keys are there, and what the tiers stand for. */
export function Providers({ settings }: { settings: Settings }) {
  return (
    <>
      <p className="mb-6 text-fg-2 text-sm">
        {modes[settings.mode]} Version {settings.version}.
      </p>
      <Section
        title="Providers"
        lead="Keys are read from the environment or from files where the server runs. They are never shown, and cannot be set here."
      >
        <Rows label="Providers">
          {settings.providers.map((provider) => (
            <Row key={provider.name}>
              <span data-s={provider.has_key ? 'done' : 'quiet'} className="st st-fg">
                {provider.has_key ? (
                  <CircleCheck className="size-4" aria-hidden="true" />
                ) : (
                  <CircleDashed className="size-4" aria-hidden="true" />
                )}
              </span>
              <span className="min-w-0 flex-1">
                <span className="font-medium">{provider.name}</span>{' '}
                <span className="text-fg-3 text-xs">{provider.wire}</span>
                {provider.address && (
                  <span className="block break-all font-mono text-fg-3 text-xs">
                    {provider.address}
                  </span>
                )}
              </span>
              <span className={provider.has_key ? 'text-fg-2' : ''}>
                {provider.has_key ? 'Key found' : 'No key'}
              </span>
              <span className="w-full sm:w-32 sm:text-right">
                <Layer layer={provider.layer} />
              </span>
            </Row>
          ))}
        </Rows>
      </Section>
      <Section
        title="Tiers"
        lead="Roles name a tier rather than a model, so that one line changes them all."
      >
        <Rows label="Tiers">
          {settings.tiers.map((tier) => (
            <Row key={tier.tier}>
              <span className="w-24 font-medium">{tier.tier}</span>
              <span className="min-w-0 flex-1 break-all font-mono text-xs">
                {tier.model ?? <span className="font-sans text-fg-3">not configured</span>}
              </span>
              <Layer layer={tier.layer} />
            </Row>
          ))}
        </Rows>
      </Section>
    </>
  );
}
