// SPDX-License-Identifier: BSD-2-Clause
// The search of the pages of `make html`: index.js has the words of each section, searchPlaces and searchWords. All is
// done here, without a server, so that it works on files, too. Texts are set as texts, never as HTML.
'use strict';

const MOST = 30; // results shown
const sortedWords = Object.keys(searchWords);

// The sections with a word that begins with this one: their number, and 2 for the word itself.
function placesOf(begin) {
	const found = new Map();
	let low = 0, high = sortedWords.length;
	while (low < high) {
		const middle = (low + high) >> 1;
		if (sortedWords[middle] < begin) low = middle + 1;
		else high = middle;
	}
	for (; low < sortedWords.length && sortedWords[low].startsWith(begin); low++)
		for (const place of searchWords[sortedWords[low]])
			found.set(place, Math.max(found.get(place) || 0, sortedWords[low] === begin ? 2 : 1));
	return found;
}

// How well a section fits: titles count more than text.
function weight(place, words, hits) {
	const [, title, heading] = searchPlaces[place];
	let sum = 0;
	for (let i = 0; i < words.length; i++) {
		sum += hits[i].get(place);
		if (title.toLowerCase().includes(words[i])) sum += 8;
		if (title.toLowerCase().startsWith(words[i] + '(')) sum += 20;
		if (heading.toLowerCase().includes(words[i])) sum += 4;
	}
	return sum;
}

function search(text) {
	const words = text.toLowerCase().match(/[a-z0-9_]{2,40}/g) || [];
	if (!words.length) return null;
	const hits = words.map(placesOf);
	const both = [...hits[0].keys()].filter(place => hits.every(h => h.has(place)));
	return both.map(place => [weight(place, words, hits), place]).sort((a, b) => b[0] - a[0] || a[1] - b[1]).map(x => x[1]);
}

function show(places) {
	const box = document.getElementById('found');
	box.replaceChildren();
	box.hidden = places === null;
	for (const place of (places || []).slice(0, MOST)) {
		const [target, title, heading] = searchPlaces[place];
		const line = document.createElement('a'), small = document.createElement('small');
		line.href = document.body.dataset.up + target;
		line.textContent = title;
		small.textContent = heading && heading !== title ? '  ' + heading : '';
		line.append(small);
		box.append(line);
	}
	if (places && places.length === 0) box.textContent = 'No page has these words.';
}

const query = document.getElementById('query');
query.addEventListener('input', () => show(search(query.value)));
query.addEventListener('keydown', event => {
	const first = document.querySelector('#found a');
	if (event.key === 'Enter' && first) location.href = first.href;
	if (event.key === 'Escape') { query.value = ''; show(null); }
});
document.addEventListener('keydown', event => {
	if (event.key === '/' && document.activeElement !== query) { event.preventDefault(); query.focus(); }
});
document.getElementById('found').addEventListener('click', event => { if (event.target.closest('a')) show(null); });
// #find=WORDS: for links, and for tests.
if (location.hash.startsWith('#find=')) {
	query.value = decodeURIComponent(location.hash.slice(6));
	show(search(query.value));
}
