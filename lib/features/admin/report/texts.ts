/** The texts of the report. */
export const reportTexts = {
  'operator.report': 'Report',

  'operator-report.text':
    'What security standards require, and which setting of this server meets it. This isn’t a full audit or a certification.',
  'operator-report.not-met': 'What to set',
  'operator-report.not-met.text': 'Each of these settings meets requirements that are not met now.',
  'operator-report.set': 'Set {setting}',
  'operator-report.affects': 'Affects {count} of {total} clients',
  'operator-report.affects.use': 'Affects {count} of {total} clients, by the newest sign-ins',
  'operator-report.affects.other': 'and 1 other',
  'operator-report.affects.others': 'and {count} others',
  'operator-report.host': 'Up to your app',
  'operator-report.host.text': 'This server cannot see whether it does.',
  'operator-report.by-configuration': 'Met by configuration',
  'operator-report.by-configuration.text': 'The named setting meets it.',
  'operator-report.met': 'Always met',
  'operator-report.met.text': 'No setting changes it. The named test shows it.',
  'operator-report.source': 'Standard',
  'operator-report.reason': 'Setting or proof',
}
