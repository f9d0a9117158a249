/** The texts of the page on which operators decide about clients of users. */
export const operatorTexts = {
  'operator.requests': 'Requests',
  'operator-requests.id': 'Client ID',
  'operator-requests.text': 'Users registered or changed these clients. They wait for your approval.',
  'operator-requests.empty': 'No client waits for approval.',
  'operator-requests.new': 'New',
  'operator-requests.change': 'Change',
  'operator-requests.owner': 'Owner',
  'operator-requests.since': 'Sent',
  'operator-requests.reason': 'Reason, for the owner',
  'operator-requests.approve': 'Approve',
  'operator-requests.refuse': 'Refuse',
  'operator-requests.of': '{client}',
  'operator-requests.notice.approved': 'The request is approved.',
  'operator-requests.notice.refused': 'The request is refused.',
  'operator-requests.notice.stale':
    'Nothing was done: the request was changed or decided in the meantime. The page shows those that wait now.',
}
