/** The texts of the overview. */
export const overviewTexts = {
  'operator.overview': 'Overview',

  'operator-overview.off': 'Turn on storedEvents to see sign-ins, and what goes wrong, here.',
  'operator-overview.sign-ins': 'Sign-ins in 24 hours',
  'operator-overview.chart':
    'Sign-ins by hour: {signIns} in the last 24 hours and {failures} failed, against {before} a week before.',
  'operator-overview.chart.more': 'Only the newest 50,000 events of each kind are counted.',
  'operator-overview.chart.today': 'Signed in',
  'operator-overview.chart.failed': 'Failed',
  'operator-overview.chart.before': 'A week before',
  'operator-overview.chart.table': 'As a table',
  'operator-overview.chart.hour': 'Hour (UTC)',

  'operator-overview.locks': 'Locked now',
  'operator-overview.tokens': 'Tokens in 24 hours',
  'operator-overview.next-key': 'Next rotation',
  'operator-overview.keys.days': 'in {days} days',
  'operator-overview.keys.day': 'within a day',
  'operator-overview.keys.none': 'not published yet',

  'operator-overview.wrong': 'What is wrong',
  'operator-overview.wrong.open': 'Open',
  'operator-overview.wrong.none': 'Nothing was refused in the last 24 hours.',
  'operator-overview.wrong.limited':
    'More was refused at {time} than is stored, so something may be missing here.',
  'operator-overview.wrong.someone': 'Unknown client',
  'operator-overview.wrong.server': 'This server',
  'operator-overview.wrong.people.one': '1 person saw an error page at {time}.',
  'operator-overview.wrong.people': '{count} people have seen an error page since {time}.',
  'operator-overview.wrong.requests.one': '1 request was refused at {time}.',
  'operator-overview.wrong.requests': '{count} requests were refused since {time}.',
  'operator-overview.wrong.failed.one': '1 request failed at {time}.',
  'operator-overview.wrong.failed': '{count} requests failed since {time}.',
  'operator-overview.wrong.expected': 'Expected',
  'operator-overview.wrong.received': 'Received',
  'operator-overview.wrong.mend.redirect_uris': 'Change its redirect URIs',
  'operator-overview.wrong.mend.scope': 'Change its scopes',
  'operator-overview.wrong.mend.grant_types': 'Change its grant types',
  'operator-overview.wrong.mend.response_types': 'Change its response types',
  'operator-overview.wrong.mend.post_logout_redirect_uris': 'Change its addresses after sign-out',
  'operator-overview.wrong.mend': 'Open the client',
  'operator-overview.wrong.tell': 'Tell its owner',
  'operator-overview.wrong.events': 'See the events',

  'operator-overview.clients': 'Sign-ins by client in 24 hours',
  'operator-overview.clients.none': 'No one has signed in to a client yet.',
}
