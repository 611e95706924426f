"""LEMoN's score: is a pair consistent with its neighbours?"""
