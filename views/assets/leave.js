// The page refreshes itself once every frame has loaded. A client that does not answer must not hold up the user.
addEventListener('DOMContentLoaded', () =>
  setTimeout(() => location.replace(document.getElementById('continue').href), 3000),
)
