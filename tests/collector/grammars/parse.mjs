// Reads [[language, query], ...] as JSON and prints for each the text at the first place that does not parse, or null.
import { readFileSync } from 'node:fs';
import { parser as logql } from '@grafana/lezer-logql';
import { parser as traceql } from '@grafana/lezer-traceql';
import { parser as promql } from '@prometheus-io/lezer-promql';

const parsers = { logql, promql, traceql };

function mistake(language, query) {
  let found = null;
  parsers[language].parse(query).iterate({
    enter(node) {
      if (found === null && node.type.isError) found = query.slice(Math.max(0, node.from - 20), node.to + 20);
    },
  });
  return found;
}

const queries = JSON.parse(readFileSync(0, 'utf8'));
process.stdout.write(JSON.stringify(queries.map(([language, query]) => mistake(language, query))));
