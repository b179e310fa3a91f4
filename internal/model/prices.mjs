// Writes prices.json out of the price table that Pydantic publishes as an npm package (MIT). Run by
// `go generate ./internal/model`; needs node, npm and tar. Prices become whole numbers here, so
// that no program ever multiplies money as a float.
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";

const name = "@pydantic/genai-prices";
const version = "0.1.8";
const providers = [
  "anthropic", "openai", "google", "aws", "azure", "mistral", "deepseek", "groq", "x-ai",
  "openrouter", "cohere", "fireworks", "together", "cerebras", "moonshotai", "zai", "minimax",
];
// The units that we price by, and their names in the table. A model that also charges for anything in
// `besides` gets no price: half of one would be worse than none. It is listed all the same, so that no
// other model's pattern takes its place.
const keys = {
  input: "input_mtok",
  output: "output_mtok",
  read: "cache_read_mtok",
  write: "cache_write_mtok",
  write_hour: "cache_write_1h_mtok",
};
const besides = ["requests_kcount", "output_reasoning_mtok", "output_citation_mtok"];

const dir = mkdtempSync(join(tmpdir(), "prices-"));
const run = (command, ...args) => execFileSync(command, args, { cwd: dir, encoding: "utf8" });
const tarball = run("npm", "pack", "--silent", `${name}@${version}`).trim();
run("tar", "xzf", tarball);
const { findProvider } = createRequire(import.meta.url)(join(dir, "package/dist/index.cjs"));
const released = JSON.parse(run("npm", "view", `${name}@${version}`, "time", "--json"))[version];
const date = released.slice(0, 10);
rmSync(dir, { recursive: true });

// micro turns dollars per million tokens into millionths of a dollar per million tokens, rounded
// up; a thousandth of that is taken for the float's own error.
const micro = (dollars) => Math.ceil(dollars * 1e6 - 1e-3);

// flat gives the prices of a table that apply above a number of input tokens.
function flat(prices, above) {
  const out = {};
  for (const [ours, theirs] of Object.entries(keys)) {
    const price = prices[theirs];
    if (price === undefined) continue;
    const tier = price.tiers?.findLast((t) => t.start <= above);
    out[ours] = micro(tier?.price ?? price.base ?? price);
  }
  return out;
}

function period(prices, from) {
  const starts = Object.values(keys).flatMap((k) => prices[k]?.tiers?.map((t) => t.start) ?? []);
  const tiers = [...new Set(starts)].sort((a, b) => a - b);
  const out = { ...(from && { from }), ...flat(prices, -1) };
  if (tiers.length > 0) out.tiers = tiers.map((above) => ({ above, ...flat(prices, above) }));
  return out;
}

// dearest merges tables of which one or the other applies by the hour of the day.
function dearest(tables) {
  const out = { ...tables[0] };
  for (const table of tables.slice(1)) {
    for (const [key, price] of Object.entries(table)) {
      if (typeof price === "object" || typeof out[key] === "object") throw new Error("tiers by the hour");
      out[key] = Math.max(out[key] ?? 0, price);
    }
  }
  return out;
}

// periods lists the prices of a model: today's, and those that are announced.
function periods(model) {
  const list = Array.isArray(model.prices) ? model.prices : [{ prices: model.prices }];
  const dated = list.filter((p) => p.constraint?.type !== "time_of_date");
  const hourly = list.filter((p) => p.constraint?.type === "time_of_date").map((p) => p.prices);
  const past = dated.filter((p) => !(p.constraint?.start_date > date));
  const announced = dated.filter((p) => p.constraint?.start_date > date);
  return [
    period(dearest([past.at(-1).prices, ...hourly])),
    ...announced.map((p) => period(dearest([p.prices, ...hourly]), p.constraint.start_date)),
  ];
}

// match puts patterns into lower case, as names are compared, and rewrites the one form of
// expression that Go does not know, "not followed by".
function match(logic) {
  const out = {};
  for (const [op, value] of Object.entries(logic)) {
    const not = op === "regex" && /^\^\(\?!(.*)\)$/.exec(value);
    if (not) out.not = { regex: `(?i)^(?:${not[1]})` };
    else if (op === "regex") out[op] = `(?i)${value}`;
    else out[op] = Array.isArray(value) ? value.map(match) : value.toLowerCase();
  }
  return out;
}

function priced(model) {
  const list = Array.isArray(model.prices) ? model.prices.map((p) => p.prices) : [model.prices];
  return list.every((p) => p.input_mtok !== undefined && p.output_mtok !== undefined) &&
    !list.some((p) => besides.some((key) => p[key]));
}

const line = (object, indent) => indent + JSON.stringify(object);
const blocks = providers.map((id) => {
  const p = findProvider({ providerId: id });
  const models = p.models.map((m) => line({
    id: m.id, match: match(m.match), window: m.context_window, prices: priced(m) ? periods(m) : [],
  }, "   "));
  const head = { id, match: p.provider_match && match(p.provider_match), fallback: p.fallback_model_providers };
  return `${line(head, "  ").slice(0, -1)},"models":[\n${models.join(",\n")}\n  ]}`;
});
const header = {
  generated: "by prices.mjs; do not edit",
  source: `${name} ${version}`,
  date,
  licence: "MIT, Copyright (c) Pydantic Services Inc.",
  unit: "millionths of a US dollar per million tokens",
};
writeFileSync(
  new URL("prices.json", import.meta.url),
  `${JSON.stringify(header, null, 1).slice(0, -2)},\n "providers":[\n${blocks.join(",\n")}\n ]\n}\n`,
);
